import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "./errors";

/** Reads are tried again only where the server says that this may help. */
export function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (failures, error) => error instanceof ApiError && error.retryable && failures < 3,
      },
    },
  });
}
