import { queryOptions } from "@tanstack/react-query";
import { call } from "./client";

export interface Package {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly version: string;
  readonly enabled: boolean;
  readonly status: string;
}

export const packagesQuery = queryOptions({
  queryKey: ["packages"],
  queryFn: async ({ signal }) =>
    (await call<{ readonly packages: readonly Package[] }>("GET", "/bff/packages", { signal })).packages,
});

export function switchPackage(id: string, enabled: boolean): Promise<Package> {
  return call("PATCH", `/bff/packages/${encodeURIComponent(id)}`, { body: { enabled } });
}
