export const states = {
  offline: "You are offline. What you type is kept; it can be sent when the connection is back.",
  copyFailed: "Could not copy: mark it and copy by hand",
  loadMore: "Show more",
  loadingMore: "Loading more…",
  saved: "Saved.",
  whole: "Show all of it",
  less: "Show less",
};
