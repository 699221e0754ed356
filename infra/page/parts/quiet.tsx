// Loads the forms of a mute and of a maintenance on demand: for a machine, a selection of machines, the list of mutes.
import type { MaintenanceDialogProps, MuteDialogProps } from "./quiet-dialogs.tsx";
import { lazyView } from "./lazy-view.tsx";

export const MuteDialog = lazyView<MuteDialogProps>(
  async () => (await import("./quiet-dialogs.tsx")).MuteDialog,
);
export const MaintenanceDialog = lazyView<MaintenanceDialogProps>(
  async () => (await import("./quiet-dialogs.tsx")).MaintenanceDialog,
);
