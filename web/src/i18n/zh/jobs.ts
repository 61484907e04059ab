import type { Words } from "../words";

export const jobs: Words["jobs"] = {
  status: { queued: "等待中", running: "进行中", completed: "已完成", failed: "失败", cancelled: "已取消" },
  progress: (done, total) => `${done} / ${total}`,
  download: (name) => (name === "" ? "下载" : `下载 ${name}`),
};
