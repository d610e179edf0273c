export { compareRuns, type ComparedFigure, type RunComparison } from "./compare.ts";
export { type Conclusion, type Difference, type NextVisit } from "./design.ts";
export { describeEndpoint, describeLengths, describeLoad } from "./describe.ts";
export { measureEndpoints, readyEndpoints, type ReadyEndpoint } from "./measure.ts";
export { placeOf } from "./place.ts";
export { templateSchema, type Design, type Endpoint, type EndpointLoad, type EndpointQuestion } from "./question.ts";
export { endpointDocument, isEndpointRun, loadEndpointRun, type EndpointRun } from "./view.ts";
export { rateOf, type EndpointVisit } from "./visit.ts";
