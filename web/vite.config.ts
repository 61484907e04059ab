import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env["DESKMATE_DEV_SERVER"] ?? "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "~": new URL("./src", import.meta.url).pathname } },
  // The server puts a fresh nonce in place of this word on every answer.
  html: { cspNonce: "__CSP_NONCE__" },
  build: {
    // Where light-dark() and dialog are there.
    target: ["chrome123", "edge123", "firefox120", "safari17.5"],
    // The content security policy knows no data: addresses.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
    manifest: true,
  },
  server: {
    port: 5173,
    // The server accepts unsafe methods from its own origin only, so the proxy speaks as that origin.
    proxy: { "/bff": { target: server, changeOrigin: true, headers: { origin: server } } },
  },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx", "checks/**/*.test.ts"], environment: "node" },
});
