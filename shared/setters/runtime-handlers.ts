// Setter: the runtime's handlers and what each of them supports.
import type { Setter } from "./setter.ts";

/** A handler as CRI Status describes it; the default one has an empty name. */
export interface RuntimeHandler {
  name: string;
  supportsRecursiveReadOnlyMounts: boolean;
  supportsUserNamespaces: boolean;
}

/** Upstream nodestatus.RuntimeHandlers with its feature gates on, as they are locked. */
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
