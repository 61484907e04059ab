import type { CapabilityWords } from "../capabilities";

interface Dictionary {
  readonly packages: Readonly<Record<string, { readonly title: string; readonly description: string }>>;
  readonly entries: Readonly<Record<string, CapabilityWords>>;
  /** Names that mean the same everywhere. */
  readonly fields: Readonly<Record<string, string>>;
  readonly hints: Readonly<Record<string, string>>;
}

export const CAPABILITIES_ZH: Dictionary = {
  packages: {
    mistakes: {
      title: "错题本",
      description: "你的错题：题目是什么、你怎么答的、正确答案是什么、为什么会错。",
    },
    memory: { title: "记忆", description: "跨对话保留的、关于你的事实。只有你自己能删除。" },
    session: { title: "对话", description: "列出和重命名你的对话，也可以在页面上打开另一个。" },
    hello: { title: "自检", description: "一个会应答的小工具，用来确认从模型到功能的整条路是通的。" },
  },
  entries: {
    "mistakes::add": {
      title: "记一道错题",
      description: "把一道错题记进错题本。题目请写完整，不清楚的可以留空。",
      hints: { question: "完整的题目。", answer: "你当时的答案。", cause: "一句话说明为什么错。" },
    },
    "mistakes::search": {
      title: "查找错题",
      description: "按词语、科目和标签查找错题，最新的在前。",
      hints: { query: "每个词都要出现；留空则列出全部。" },
    },
    "mistakes::update": {
      title: "修改错题",
      description: "修改一条记录中填写的项目，其余保持不变。",
    },
    "mistakes::archive": { title: "归档错题", description: "把一条记录移出当前错题本，放入归档。" },
    "mistakes::remove": { title: "删除错题", description: "永久删除一条记录，无法恢复。" },
    "mistakes::export": {
      title: "导出错题本",
      description: "把整本错题导出成文件，完成后可以下载。",
      fields: { format: "格式" },
      hints: { format: "CSV 适合表格软件，Markdown 适合阅读和打印。" },
    },
    "memory::save": {
      title: "记住一件事",
      description: "记住关于你的一件事，以后的对话也会用到。",
      hints: { content: "用一两句话写一件事。", id: "如果要替换已有的一条，填它的编号。" },
    },
    "memory::search": {
      title: "查看记忆",
      description: "查找 Deskmate 记住的关于你的事。",
      hints: { query: "要找的词；留空则列出最新的。" },
    },
    "memory::remove": { title: "忘掉一件事", description: "永久删除一条记忆。" },
    "session::list": {
      title: "列出对话",
      description: "列出你的对话，最新的在前。",
      hints: { query: "标题的一部分；留空则列出最新的。" },
    },
    "session::rename": {
      title: "重命名对话",
      description: "给一个对话换个标题。",
      fields: { title: "新标题" },
      hints: { session_id: "留空表示当前对话。" },
    },
    "session::switch": { title: "打开对话", description: "在页面上打开另一个对话。" },
  },
  fields: {
    id: "编号",
    question: "题目",
    answer: "我的答案",
    correct_answer: "正确答案",
    cause: "错因",
    subject: "科目",
    tags: "标签",
    tag: "标签",
    query: "关键词",
    archived: "已归档",
    limit: "数量",
    cursor: "翻页位置",
    version: "版本",
    content: "内容",
    title: "标题",
    session_id: "对话编号",
    session: "对话",
    source_file_id: "来源图片",
    format: "格式",
    namespace: "范围",
    source: "来源",
    created_at: "创建时间",
    updated_at: "更新时间",
    archived_at: "归档时间",
    message_count: "消息数",
    entries: "错题",
    facts: "记忆",
    sessions: "对话",
    next: "下一页",
    removed: "已删除",
    job_id: "任务编号",
    name: "名称",
    file_id: "文件编号",
  },
  hints: {
    version: "你读到的版本；如果已有更新的版本会被拒绝。",
    cursor: "上一页给出的 next 值。",
    subject: "例如：数学、英语。",
    tags: "知识点，例如：分数、一元二次方程。",
    source_file_id: "题目来自的上传图片。",
    archived: "勾选后在归档中查找。",
  },
};
