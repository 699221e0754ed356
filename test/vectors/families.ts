// Maps the name of each file of recordings to the family that runs it.
import type { Family } from "./family.ts";
import { emptyFieldFamilies } from "./families/empty-fields.ts";
import { featureRules } from "./families/feature-rules.ts";
import { heartbeats } from "./families/heartbeats.ts";
import { labelSelectors } from "./families/label-selectors.ts";
import { regexp } from "./families/regexp.ts";
import { resources } from "./families/resources.ts";
import { setters } from "./families/setters.ts";

export const families: Record<string, Family> = {
  ...emptyFieldFamilies,
  ...resources,
  ...setters,
  ...heartbeats,
  featureRules,
  labelSelectors,
  regexp,
};
