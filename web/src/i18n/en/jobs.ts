export const jobs = {
  status: {
    queued: "Waiting",
    running: "Under way",
    completed: "Done",
    failed: "Failed",
    cancelled: "Cancelled",
  },
  progress: (done: number, total: number) => `${done} of ${total}`,
  download: (name: string) => (name === "" ? "Download" : `Download ${name}`),
};
