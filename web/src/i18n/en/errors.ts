/** What went wrong, by the server's code. Codes without a sentence here show the server's own detail. */
export const errors = {
  NETWORK: "No connection to the server. Check your network; we keep what you typed.",
  UNAUTHENTICATED: "You are signed out. Sign in again to go on.",
  NOT_FOUND: "This is not there any more, or it is not yours.",
  SESSION_BUSY: "An answer is still being written in this conversation.",
  PAYLOAD_TOO_LARGE: "This is too large to send.",
  UNSUPPORTED_MEDIA_TYPE: "This kind of file cannot be used here.",
  INTERNAL_ERROR: "Something went wrong on the server. Try again in a moment.",
  STORAGE_ERROR: "The database does not answer at the moment. Try again shortly.",
  PROVIDER_ERROR: "The model could not be reached.",
  RATE_LIMITED: "Too many requests. Wait a moment.",
  RUN_INTERRUPTED: "The server stopped in the middle of this answer. What was done is kept.",
  UNEXPECTED_ANSWER: "The server's answer could not be understood. Reload the page.",
  requestId: (id: string) => `Request ${id}`,
};
