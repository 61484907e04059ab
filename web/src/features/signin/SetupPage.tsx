import type { ReactNode } from "react";
import { PendingPage } from "~/ui/pages/PendingPage";

export function SetupPage(): ReactNode {
  return <PendingPage />;
}
