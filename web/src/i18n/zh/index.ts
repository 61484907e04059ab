import type { Words } from "../words";
import { common } from "./common";
import { errors } from "./errors";

export const zh: Words = { common, errors };
