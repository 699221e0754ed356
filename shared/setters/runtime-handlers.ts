// Sets the handlers of the container runtime, with the features of each.
import type { Setter } from "./setter.ts";

/** A handler as CRI Status describes it. The default handler has an empty name. */
export interface RuntimeHandler {
  name: string;
  supportsRecursiveReadOnlyMounts: boolean;
  supportsUserNamespaces: boolean;
}

/** Returns the setter of the handlers (upstream nodestatus.RuntimeHandlers with its gates, which are always on). */
export function runtimeHandlers(
  readHandlers: () => readonly RuntimeHandler[] | null, // typically the facts' runtime handlers
): Setter {
  return (node) => {
    const handlers = readHandlers();
    if (handlers && handlers.length > 0) {
      node.status.runtimeHandlers = handlers.map((handler) => ({
        name: handler.name,
        features: {
          recursiveReadOnlyMounts: handler.supportsRecursiveReadOnlyMounts,
          userNamespaces: handler.supportsUserNamespaces,
        },
      }));
    } else if (node.status.runtimeHandlers) delete node.status.runtimeHandlers;
    return null;
  };
}
