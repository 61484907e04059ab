import type { Words } from "../words";

export const errors: Words["errors"] = {
  NETWORK: "连不上服务器。请检查网络；你输入的内容会保留。",
  UNAUTHENTICATED: "你已退出登录，请重新登录后继续。",
  NOT_FOUND: "它已不存在，或者不属于你。",
  SESSION_BUSY: "这个对话还有一个回答没写完。",
  PAYLOAD_TOO_LARGE: "内容太大，无法发送。",
  UNSUPPORTED_MEDIA_TYPE: "这种文件不能在这里使用。",
  INTERNAL_ERROR: "服务器出了点问题，请稍后再试。",
  STORAGE_ERROR: "数据库暂时没有响应，请稍后再试。",
  PROVIDER_ERROR: "连不上模型。",
  RATE_LIMITED: "请求太频繁，请稍等片刻。",
  RUN_INTERRUPTED: "服务器在回答途中停止了。已完成的内容都保留着。",
  UNEXPECTED_ANSWER: "服务器的回答无法识别，请刷新页面。",
  requestId: (id) => `请求编号 ${id}`,
};
