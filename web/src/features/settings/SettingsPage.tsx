import type { ReactNode } from "react";
import { PendingPage } from "~/ui/pages/PendingPage";

export function SettingsPage(): ReactNode {
  return <PendingPage />;
}
