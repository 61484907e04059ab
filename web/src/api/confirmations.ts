import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { call } from "./client";

export type ConfirmationStatus = "pending" | "approved" | "declined" | "expired";

export interface Confirmation {
  readonly id: string;
  readonly status: ConfirmationStatus;
  /** `namespace::name` of what would be done. */
  readonly capability: string;
  readonly title: string;
  readonly description: string;
  /** As stored with the question; approval runs exactly these. */
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly session_id: string | null;
  readonly created_at: string;
  readonly expires_at: string;
  readonly result?: unknown;
  readonly error?: { readonly code: string; readonly message: string } | null;
}

export type Decision = "approve" | "decline";

export function confirmationQuery(id: string) {
  return queryOptions({
    queryKey: ["confirmation", id],
    queryFn: ({ signal }) =>
      call<Confirmation>("GET", `/bff/confirmations/${encodeURIComponent(id)}`, { signal }),
    staleTime: 0,
  });
}

/** What waits for the user's word, in one conversation or in all of them. */
export function pendingConfirmationsQuery(sessionId: string | null) {
  return queryOptions({
    queryKey: ["confirmations", sessionId],
    queryFn: async ({ signal }) =>
      (
        await call<{ readonly confirmations: readonly Confirmation[] }>("GET", "/bff/confirmations", {
          query: { status: "pending", session_id: sessionId },
          signal,
        })
      ).confirmations,
  });
}

/** Sends the decision and keeps the answer where every card of this confirmation looks. */
export async function decide(queries: QueryClient, id: string, decision: Decision): Promise<Confirmation> {
  const answer = await call<Confirmation>("POST", `/bff/confirmations/${encodeURIComponent(id)}`, {
    body: { decision },
  });
  queries.setQueryData(confirmationQuery(id).queryKey, answer);
  await queries.invalidateQueries({ queryKey: ["confirmations"] });
  return answer;
}
