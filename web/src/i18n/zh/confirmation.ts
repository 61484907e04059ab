import type { Words } from "../words";

export const confirmation: Words["confirmation"] = {
  title: "请确认",
  pageTitle: "确认操作",
  lead: "做这件事之前，Deskmate 需要你的同意。同意后只执行一次，内容与下方完全一致。",
  arguments: "具体内容",
  noArguments: "没有其他内容。",
  invisible: "不可见字符",
  expiresIn: "剩余决定时间：",
  approve: "同意执行",
  decline: "不要执行",
  approving: "正在执行…",
  declining: "正在拒绝…",
  running: "已同意，正在执行…",
  outcome: {
    approved: "已按你的同意完成。",
    declined: "已拒绝，什么都没有改动。",
    expired: "已超过决定时间，什么都没有改动。如仍需要，请重新发起。",
  },
  failed: (reason) => `你已同意，但没有成功。${reason}`,
  toChat: "回到对话",
  asked: (when) => `发起于 ${when}`,
};
