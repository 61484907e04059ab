import { queryOptions } from "@tanstack/react-query";
import { call } from "./client";

export interface Model {
  readonly id: string;
  readonly provider: string;
  readonly abilities: readonly string[];
  readonly context_window: number;
}

export interface Me {
  readonly user: { readonly id: string; readonly email: string; readonly is_operator: boolean };
  readonly device: { readonly id: string; readonly created_at: string; readonly expires_at: string };
  readonly version: string;
  readonly is_trial: boolean;
  readonly default_model: string;
  readonly models: readonly Model[];
}

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => call<Me>("GET", "/bff/me", { signal }),
  staleTime: 60_000,
});

export function signOut(): Promise<void> {
  return call("POST", "/bff/logout");
}
