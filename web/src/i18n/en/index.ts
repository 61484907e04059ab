import { account } from "./account";
import { audit } from "./audit";
import { common } from "./common";
import { confirmation } from "./confirmation";
import { errors } from "./errors";
import { form } from "./form";
import { jobs } from "./jobs";
import { mistakes } from "./mistakes";
import { palette } from "./palette";
import { settings } from "./settings";
import { states } from "./states";

/** One file a feature. This dictionary is the shape that every other language must fill. */
export const en = {
  account,
  audit,
  common,
  confirmation,
  errors,
  form,
  jobs,
  mistakes,
  palette,
  settings,
  states,
};
