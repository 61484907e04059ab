import type { ReactNode } from "react";
import { PendingPage } from "~/ui/pages/PendingPage";

export function NewChatPage(): ReactNode {
  return <PendingPage />;
}
