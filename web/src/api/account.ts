import { queryOptions } from "@tanstack/react-query";
import { call } from "./client";
import type { Me } from "./me";

export const setupQuery = queryOptions({
  queryKey: ["setup"],
  queryFn: ({ signal }) => call<{ readonly needed: boolean }>("GET", "/bff/setup", { signal }),
  staleTime: 0,
});

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** Makes the first account with the one-time token; the answer's cookie signs in. */
export function setUp(body: Credentials & { readonly token: string }): Promise<Me> {
  return call("POST", "/bff/setup", { body });
}

/** Throws ApiError LOGIN_FAILED, or status 429 with `retryAfterS`. */
export function signIn(body: Credentials): Promise<Me> {
  return call("POST", "/bff/login", { body });
}

export function signOutEverywhere(): Promise<void> {
  return call("POST", "/bff/logout-everywhere");
}

/** Ends the other devices; this one gets a new cookie. */
export function changePassword(body: { readonly current: string; readonly new: string }): Promise<void> {
  return call("POST", "/bff/password", { body });
}

export interface Device {
  readonly id: string;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly user_agent: string;
  readonly address: string;
  readonly current: boolean;
}

export const devicesQuery = queryOptions({
  queryKey: ["devices"],
  queryFn: async ({ signal }) =>
    (await call<{ readonly devices: readonly Device[] }>("GET", "/bff/devices", { signal })).devices,
});

export function endDevice(id: string): Promise<void> {
  return call("DELETE", `/bff/devices/${encodeURIComponent(id)}`);
}
