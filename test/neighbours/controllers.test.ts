// Runs the experiment with the controllers of kube-controller-manager for DaemonSets, ranges, volumes and garbage.
import { describeExperiments } from "./describe-experiment.ts";

describeExperiments(["controllers"]);
