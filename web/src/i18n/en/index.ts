import { common } from "./common";
import { errors } from "./errors";

/** One file a feature. This dictionary is the shape that every other language must fill. */
export const en = { common, errors };
