"""What the terminal client says, in English and Chinese; the language follows LC_ALL, LC_MESSAGES, LANG."""

from __future__ import annotations

import os
from collections.abc import Mapping

ENGLISH: Mapping[str, str] = {
    "no_token": "Set DESKMATE_TOKEN to a token from: deskmate token create --user EMAIL --scope '*'",
    "no_server": "No Deskmate answers at {url}. Start it with `deskmate serve`, or set DESKMATE_BASE_URL.",
    "cut": "connection lost, reading on…",
    "gave_up": "The connection could not be restored; the run goes on at the server: {run_id}",
    "cancelled": "cancelled",
    "cancelling": "cancelling…",
    "failed": "failed: {message}",
    "greeting": "Deskmate, as {email}. /new begins a conversation, /sessions lists them, /quit ends.",
    "new": "A new conversation.",
    "no_sessions": "No conversations yet.",
    "choose": "Go on with: /open NUMBER",
    "opened": "In “{title}”.",
    "no_such": "There is no such number.",
    "unknown": "Commands: /new, /sessions, /open NUMBER, /quit. Anything else is said to the agent.",
    "untitled": "(no title)",
    "confirm": "needs your approval in the browser: {url}",
    "prompt": "you> ",
}
CHINESE: Mapping[str, str] = {
    "no_token": "请设置 DESKMATE_TOKEN，令牌来自：deskmate token create --user 邮箱 --scope '*'",
    "no_server": "{url} 没有 Deskmate 应答。请先运行 `deskmate serve`，或设置 DESKMATE_BASE_URL。",
    "cut": "连接中断，正在续读……",
    "gave_up": "连接无法恢复；运行仍在服务器上继续：{run_id}",
    "cancelled": "已取消",
    "cancelling": "正在取消……",
    "failed": "失败：{message}",
    "greeting": "Deskmate，当前用户 {email}。/new 新对话，/sessions 列出对话，/quit 退出。",
    "new": "新对话。",
    "no_sessions": "还没有对话。",
    "choose": "继续某个对话：/open 编号",
    "opened": "已进入“{title}”。",
    "no_such": "没有这个编号。",
    "unknown": "命令：/new、/sessions、/open 编号、/quit。其他内容都会发给助手。",
    "untitled": "（无标题）",
    "confirm": "需要您在浏览器中确认：{url}",
    "prompt": "你> ",
}


def words(environment: Mapping[str, str] | None = None) -> Mapping[str, str]:
    environment = os.environ if environment is None else environment
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(name):
            return CHINESE if environment[name].lower().startswith("zh") else ENGLISH
    return ENGLISH
