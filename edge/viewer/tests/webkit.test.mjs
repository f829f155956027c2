// The core of the viewer's tests in WebKit. WebKitGTK's driver makes no touches, so pinching is tested in Chromium and
// Firefox.

import { testsOf } from "./engines/core.mjs";
import { startWebKit } from "./engines/webkit.mjs";

testsOf("WebKit", startWebKit);
