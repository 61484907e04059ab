"""The agent loop: one loop for all turns, driven through ports. Imports protocol and errors only."""

from app.agent.config import AgentConfig, Limits, Sampling
from app.agent.loop import run_turn
from app.agent.prompt import PromptInputs
from app.agent.turn import Turn, TurnEnd

__all__ = ["AgentConfig", "Limits", "PromptInputs", "Sampling", "Turn", "TurnEnd", "run_turn"]
