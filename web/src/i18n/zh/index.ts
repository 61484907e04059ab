import type { Words } from "../words";
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

export const zh: Words = {
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
