// Setter: features that the container runtime adds to the node.
import type { Setter } from "./setter.ts";

export interface RuntimeFeatures {
  supplementalGroupsPolicy: boolean;
}

/** Upstream nodestatus.NodeFeatures with its feature gate on, as it is locked. Unknown features keep what was there. */
export function nodeFeatures(
  readFeatures: () => RuntimeFeatures | null, // typically the facts' runtime features
): Setter {
  return (node) => {
    const features = readFeatures();
    if (features) node.status.features = { supplementalGroupsPolicy: features.supplementalGroupsPolicy };
    return null;
  };
}
