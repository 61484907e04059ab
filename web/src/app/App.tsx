import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { whenSignedOut } from "~/api/client";
import { makeQueryClient } from "~/api/queryClient";
import { LanguageProvider } from "~/i18n/language";
import { ThemeProvider } from "~/theme/theme";
import { makeRouter } from "./router";

export function App(): ReactNode {
  const [{ client, router }] = useState(() => {
    const client = makeQueryClient();
    const router = makeRouter(client);
    whenSignedOut(() => {
      if (router.state.location.pathname === "/signin" || router.state.location.pathname === "/setup") return;
      client.clear();
      void router.navigate({ to: "/signin", search: { next: router.state.location.href } });
    });
    return { client, router };
  });
  return (
    <LanguageProvider>
      <ThemeProvider>
        <QueryClientProvider client={client}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </ThemeProvider>
    </LanguageProvider>
  );
}
