import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from "@tanstack/react-router";
import { meQuery } from "~/api/me";
import { filterIn as auditFilter } from "~/features/audit/filter";
import { filterIn as mistakesFilter } from "~/features/mistakes/entries";
import { FailedPage } from "~/ui/pages/FailedPage";
import { NotFoundPage } from "~/ui/pages/NotFoundPage";
import { PendingPage } from "~/ui/pages/PendingPage";
import { Shell } from "./shell/Shell";

interface Context {
  readonly queries: QueryClient;
}

const root = createRootRouteWithContext<Context>()({ component: Outlet, notFoundComponent: NotFoundPage });

/** An address inside this page, to come back to after sign-in; anything else is dropped. */
function safeNext(value: unknown): string | undefined {
  return typeof value === "string" && /^\/(?![/\\])/.test(value) ? value : undefined;
}

// --- without an account -------------------------------------------------------------------------
const signIn = createRoute({
  getParentRoute: () => root,
  path: "/signin",
  validateSearch: (search: Record<string, unknown>): { next?: string } => {
    const next = safeNext(search["next"]);
    return next === undefined ? {} : { next };
  },
  component: lazyRouteComponent(() => import("~/features/signin/SignInPage"), "SignInPage"),
});
const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  component: lazyRouteComponent(() => import("~/features/signin/SetupPage"), "SetupPage"),
});

// --- signed in: all inside the shell ------------------------------------------------------------
const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  component: Shell,
  errorComponent: FailedPage,
  pendingComponent: PendingPage,
  notFoundComponent: NotFoundPage,
  // A 401 is answered by the client itself, which leads to the sign-in page.
  loader: ({ context }) => context.queries.query({ ...meQuery, staleTime: "static" }),
});
const home = createRoute({
  getParentRoute: () => shell,
  path: "/",
  component: lazyRouteComponent(() => import("~/features/chat/NewChatPage"), "NewChatPage"),
});
const session = createRoute({
  getParentRoute: () => shell,
  path: "/s/$sessionId",
  component: lazyRouteComponent(() => import("~/features/chat/ChatPage"), "ChatPage"),
});
const mistakes = createRoute({
  getParentRoute: () => shell,
  path: "/mistakes",
  validateSearch: mistakesFilter,
  component: lazyRouteComponent(() => import("~/features/mistakes/MistakesPage"), "MistakesPage"),
});
const settings = createRoute({
  getParentRoute: () => shell,
  path: "/settings",
  component: lazyRouteComponent(() => import("~/features/settings/SettingsPage"), "SettingsPage"),
});
const settingsSection = createRoute({
  getParentRoute: () => shell,
  path: "/settings/$section",
  component: lazyRouteComponent(() => import("~/features/settings/SettingsPage"), "SettingsPage"),
});
const audit = createRoute({
  getParentRoute: () => shell,
  path: "/audit",
  validateSearch: auditFilter,
  component: lazyRouteComponent(() => import("~/features/audit/AuditPage"), "AuditPage"),
});
const confirmation = createRoute({
  getParentRoute: () => shell,
  path: "/confirmations/$confirmationId",
  component: lazyRouteComponent(
    () => import("~/features/confirmations/ConfirmationPage"),
    "ConfirmationPage",
  ),
});

const tree = root.addChildren([
  signIn,
  setup,
  shell.addChildren([home, session, mistakes, settings, settingsSection, audit, confirmation]),
]);

// The return type is the router's own, which only the library can name.
export function makeRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { queries },
    defaultPreload: "intent",
    defaultErrorComponent: FailedPage,
    defaultPendingComponent: PendingPage,
    defaultNotFoundComponent: NotFoundPage,
    scrollRestoration: false,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
