// Sets the features of the container runtime.
import type { Setter } from "./setter.ts";

export interface RuntimeFeatures {
  supplementalGroupsPolicy: boolean;
}

/**
 * Returns the setter (upstream nodestatus.NodeFeatures with its feature gate, which is always on). While the
 * features are unknown, the last ones stay.
 */
export function nodeFeatures(
  readFeatures: () => RuntimeFeatures | null, // typically the facts' runtime features
): Setter {
  return (node) => {
    const features = readFeatures();
    if (features) node.status.features = { supplementalGroupsPolicy: features.supplementalGroupsPolicy };
    return null;
  };
}
