import type { Words } from "../words";

export const states: Words["states"] = {
  offline: "当前离线。输入的内容会保留，恢复连接后即可发送。",
  copyFailed: "无法自动复制，请手动选择复制",
  loadMore: "显示更多",
  loadingMore: "正在加载…",
  saved: "已保存。",
  whole: "展开全部",
  less: "收起",
};
