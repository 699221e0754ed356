// Runs the recordings of node-feature-discovery's rules. The texts of errors are our own.
import {
  evaluateRules,
  type FeatureRule,
  featureSets,
  type NodeFeatures,
} from "../../../shared/features/rules.ts";
import type { Family } from "../family.ts";

interface Given {
  rules: FeatureRule[];
  features: NodeFeatures;
}

export const featureRules: Family = {
  run: ({ rules, features }: Given) => {
    const { failed, refused, matched: _, ...outcome } = evaluateRules(rules, featureSets(features));
    return {
      ...outcome,
      failed: failed.map(({ rule }) => rule),
      refused: refused.map(({ what }) => what).sort(),
    };
  },
};
