// Runs the experiment with the EndpointSlice controller of kube-controller-manager.
import { describeExperiments } from "./describe-experiment.ts";

describeExperiments(["hints"]);
