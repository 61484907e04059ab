import type { ReactNode } from "react";
import { PendingPage } from "~/ui/pages/PendingPage";

export function AuditPage(): ReactNode {
  return <PendingPage />;
}
