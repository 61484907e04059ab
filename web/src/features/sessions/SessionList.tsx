import type { ReactNode } from "react";

export function SessionList(): ReactNode {
  return <div className="sessions" />;
}
