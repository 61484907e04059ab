import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ApiError } from "~/api/errors";
import { confirmationQuery, decide, type Confirmation, type Decision } from "~/api/confirmations";

export interface ConfirmationState {
  readonly confirmation: Confirmation | undefined;
  readonly isLoading: boolean;
  /** Why the question could not be read. */
  readonly loadError: unknown;
  readonly reload: () => void;
  readonly decide: (decision: Decision) => void;
  readonly deciding: Decision | null;
  readonly decideError: unknown;
}

/** One confirmation and the way to decide it; `onDecided` hears of what this page's own decision led to. */
export function useConfirmation(id: string, onDecided?: (answer: Confirmation) => void): ConfirmationState {
  const queries = useQueryClient();
  const found = useQuery(confirmationQuery(id));
  const mutation = useMutation({
    mutationFn: (decision: Decision) => decide(queries, id, decision),
    onSuccess: (answer) => onDecided?.(answer),
    onError: (error) => {
      // Decided elsewhere or too late: what is stored says which.
      if (error instanceof ApiError && error.status === 409) void found.refetch();
    },
  });
  return {
    confirmation: found.data,
    isLoading: found.isPending,
    loadError: found.error,
    reload: () => void found.refetch(),
    decide: (decision) => mutation.mutate(decision),
    deciding: mutation.isPending ? mutation.variables : null,
    decideError: mutation.error,
  };
}
