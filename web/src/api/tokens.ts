import { queryOptions } from "@tanstack/react-query";
import { call } from "./client";

export interface Token {
  readonly id: string;
  readonly name: string;
  /** The end of the token, to tell one from another. */
  readonly hint: string;
  readonly scopes: readonly string[];
  readonly created_at: string;
  readonly expires_at: string;
  readonly last_used_at: string | null;
}

export const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  queryFn: async ({ signal }) =>
    (await call<{ readonly tokens: readonly Token[] }>("GET", "/bff/tokens", { signal })).tokens,
});

export const scopesQuery = queryOptions({
  queryKey: ["scopes"],
  queryFn: async ({ signal }) =>
    (await call<{ readonly scopes: readonly string[] }>("GET", "/bff/scopes", { signal })).scopes,
});

export interface TokenCreate {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expires_days: number;
  /** A token is made only by who knows the password again. */
  readonly password: string;
}

/** The answer holds the whole token, this once. */
export function createToken(body: TokenCreate): Promise<Token & { readonly token: string }> {
  return call("POST", "/bff/tokens", { body });
}

export function revokeToken(id: string): Promise<void> {
  return call("DELETE", `/bff/tokens/${encodeURIComponent(id)}`);
}
