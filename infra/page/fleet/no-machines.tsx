// Nothing is here yet: seldom seen, so that it is loaded when it is.
import { lazyView } from "../parts/lazy-view.tsx";

export const NoMachines = lazyView(async () => (await import("./no-machines-steps.tsx")).NoMachinesSteps);
