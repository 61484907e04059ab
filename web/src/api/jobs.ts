import { queryOptions } from "@tanstack/react-query";
import { call } from "./client";

export type JobStatus = "queued" | "running" | "completed" | "failed" | "cancelled";

export interface Job {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly status: JobStatus;
  readonly progress: { readonly done: number; readonly total: number; readonly note: string } | null;
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly session_id: string | null;
}

export function isEnded(status: JobStatus): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** Follows a job that belongs to no conversation by asking, ever more slowly. */
export function jobQuery(id: string) {
  return queryOptions({
    queryKey: ["job", id],
    queryFn: ({ signal }) => call<Job>("GET", `/bff/jobs/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: ({ state }) =>
      state.data !== undefined && isEnded(state.data.status)
        ? false
        : Math.min(500 * 1.5 ** state.dataUpdateCount, 5_000),
  });
}

export function cancelJob(id: string): Promise<void> {
  return call("POST", `/bff/jobs/${encodeURIComponent(id)}/cancel`);
}

export function fileAddress(fileId: string): string {
  return `/bff/files/${encodeURIComponent(fileId)}`;
}
