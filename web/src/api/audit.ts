import { call } from "./client";

export interface AuditEntry {
  readonly id: string;
  readonly actor_id: string | null;
  readonly at: string;
  readonly caller_kind: string;
  readonly initiator: string;
  readonly action: string;
  readonly target: string;
  readonly version: string;
  readonly outcome: string;
  readonly error_code: string | null;
  readonly run_id: string | null;
  readonly session_id: string | null;
  readonly call_id: string | null;
  readonly token_id: string | null;
  readonly arguments_digest: string | null;
  readonly duration_ms: number;
  readonly usage: Readonly<Record<string, unknown>> | null;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly next: string | null;
}

export interface AuditFilter {
  readonly action?: string | undefined;
  readonly outcome?: string | undefined;
  readonly initiator?: string | undefined;
}

export function readAudit(
  filter: AuditFilter,
  cursor: string | null,
  signal: AbortSignal,
): Promise<AuditPage> {
  return call("GET", "/bff/audit", { query: { limit: 50, cursor, ...filter }, signal });
}
