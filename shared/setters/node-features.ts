// Sets the features of the container runtime.
import type { Setter } from "./setter.ts";

export interface RuntimeFeatures {
  supplementalGroupsPolicy: boolean;
}

/** Returns the setter of the features (upstream nodestatus.NodeFeatures). While unknown, the last features stay. */
export function nodeFeatures(
  readFeatures: () => RuntimeFeatures | null, // typically the facts' runtime features
): Setter {
  return (node) => {
    const features = readFeatures();
    if (features) node.status.features = { supplementalGroupsPolicy: features.supplementalGroupsPolicy };
    return null;
  };
}
