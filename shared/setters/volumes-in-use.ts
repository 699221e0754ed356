// Sets the list of volumes in use.
import type { Setter } from "./setter.ts";

/** Returns the setter of the volumes in use (upstream nodestatus.VolumesInUse). Unknown volumes leave the old list. */
export function volumesInUse(
  synced: () => boolean, // typically the facts' volumes.synced
  readVolumesInUse: () => readonly string[] | null, // typically the facts' volumes.inUse
): Setter {
  return (node) => {
    if (!synced()) return null;
    const volumes = readVolumesInUse();
    if (volumes && volumes.length > 0) node.status.volumesInUse = [...volumes];
    else if (node.status.volumesInUse) delete node.status.volumesInUse;
    return null;
  };
}
