// Runs the recordings of node-feature-discovery's rules. The texts of errors are our own.
import { type FeatureSet } from "../../../shared/features/match.ts";
import { evaluateRules, type FeatureRule } from "../../../shared/features/rules.ts";
import type { Family } from "../family.ts";

interface Given {
  rules: FeatureRule[];
  features: {
    flags?: Record<string, { elements: object }>;
    attributes?: Record<string, { elements: Record<string, string> }>;
    instances?: Record<string, { elements: { attributes: Record<string, string> }[] }>;
  };
}

export const featureRules: Family = {
  run: ({ rules, features }: Given) => {
    const sets = new Map<string, FeatureSet>();
    const add = (name: string, more: FeatureSet) => sets.set(name, { ...sets.get(name), ...more });
    for (const [name, { elements }] of Object.entries(features.flags ?? {}))
      add(name, { flags: new Set(Object.keys(elements)) });
    for (const [name, { elements }] of Object.entries(features.attributes ?? {}))
      add(name, { attributes: new Map(Object.entries(elements)) });
    for (const [name, { elements }] of Object.entries(features.instances ?? {}))
      add(name, { instances: elements.map(({ attributes }) => new Map(Object.entries(attributes))) });
    const { failed, refused, matched: _, ...outcome } = evaluateRules(rules, sets);
    return {
      ...outcome,
      failed: failed.map(({ rule }) => rule),
      refused: refused.map(({ what }) => what).sort(),
    };
  },
};
