import type { en } from "./en";

/** Every sentence of the page. A language that lacks one, or has one too many, does not build. */
export type Words = typeof en;
