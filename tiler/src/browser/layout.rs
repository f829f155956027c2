//! Lays a page out as one sheet: hides consent banners, expands what scrolls, frames too, and measures the result. The
//! scripts decide; this module gives them what scripts cannot reach: documents of other origins, closed shadow trees,
//! and event listeners.

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::PageError;
use super::fair_clock::FairInstant;
use super::limits::PageLimits;
use super::tab::Tab;

/// Lays out the page in a tab.
pub(super) struct PageLayout<'a> {
    pub tab: &'a mut Tab,
    pub limits: &'a PageLimits,
}

/// The part of a page that its screenshot shows, in CSS pixels from the left edge of what can be scrolled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub left: u32,
    pub top: u32,
    /// Left edge of the window.
    pub origin: u32,
    pub width: u32,
    pub height: u32,
}

/// The answer of `unfold.js` about a document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Unfolded {
    /// Height of the content.
    height: f64,
    /// Its length that does not fit into the window.
    more: f64,
    /// True if the document consists of frames.
    is_frameset: bool,
    /// True if one frame fills the window.
    frame: bool,
    /// True if a box that fills the window hides content below.
    hidden_box: bool,
    /// Number of elements that may have a closed shadow tree.
    hosts: u32,
}

/// The answer of `find.js` about a selector.
#[derive(Debug, Deserialize)]
struct Found {
    /// True if it is one.
    valid: bool,
    /// Box of the first element that matches and has one.
    #[serde(rename = "box")]
    first: Option<ElementBox>,
}

/// The box of an element, in CSS pixels from the top left of the window.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct ElementBox {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

/// Edges of the content, in CSS pixels from the left edge of the window.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Edges {
    left: f64,
    right: f64,
}

/// A script with the helpers that it shares with others, and those of its own.
macro_rules! script {
    ($file:literal $(, $helper:literal)*) => {
        concat!(
            "(argument) => {",
            include_str!("script/dom.js"),
            $(include_str!(concat!("script/", $helper)),)*
            "return (",
            include_str!(concat!("script/", $file)),
            ")(argument) }"
        )
    };
}

pub(super) use script;

/// The state of the scripts, which `dom.js` describes.
const STATE: &str = "globalThis[Symbol.for('edgezoom')]";

/// Maximum number of frames within frames.
const MAX_FRAMES: usize = 5;

/// Maximum number of times that a frame is expanded: its window follows late, and its content may be as high as it.
const MAX_EXPANSIONS: usize = 4;

/// Maximum number of times that a document is unfolded: shadow trees may be nested.
const MAX_TURNS: usize = 5;

impl PageLayout<'_> {
    /// Hides consent banners and what the request names, and expands what scrolls in place of the page.
    pub(super) async fn rearrange(&mut self) -> Result<(), PageError> {
        let main = self.tab.main_frame().to_owned();
        self.hide().await?;
        if self.unfold(&main, None).await?.frame {
            // A document that navigates meanwhile stays as it is.
            match self.unfold_frames(main).await {
                Ok(()) | Err(PageError::Command(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Hides consent banners and what the request names.
    pub(super) async fn hide(&mut self) -> Result<(), PageError> {
        let main = self.tab.main_frame().to_owned();
        self.call(&main, script!("consent.js"), json!({})).await?;
        match self.limits.capture.hide() {
            Some(selector) => self.find(selector, "hide", "web-hide").await.map(drop),
            None => Ok(()),
        }
    }

    /// Returns the box of the first element that matches a selector and has a box. `purpose` is as in `find.js`, and
    /// `option` the name of the selector's option. The browser gets the selector as a value, never as a part of a script.
    pub(super) async fn find(
        &mut self,
        selector: &str,
        purpose: &str,
        option: &'static str,
    ) -> Result<Option<ElementBox>, PageError> {
        let main = self.tab.main_frame().to_owned();
        let argument = json!({ "selector": selector, "purpose": purpose });
        let Found { valid, first } = parsed(self.call(&main, script!("find.js"), argument).await?)?;
        if valid { Ok(first) } else { Err(PageError::NoSelector(option)) }
    }

    /// Measures the page, or its part that is shown. Content beside the window counts, menus that wait there do
    /// not.
    pub(super) async fn measure(&mut self) -> Result<Area, PageError> {
        let main = self.tab.main_frame().to_owned();
        let edges = self.call(&main, script!("measure.js"), json!({})).await?;
        let metrics = self.tab.command("Page.getLayoutMetrics", json!({})).await?;
        let number = |object: &str, key: &str| metrics[object][key].as_f64().unwrap_or_default();
        // The window is at the right of what can be scrolled to if the page begins there.
        let (origin, width) = (number("cssLayoutViewport", "pageX"), number("cssContentSize", "width"));
        let height = number("cssContentSize", "height");
        if let Some(selector) = self.limits.capture.selector() {
            let found = self.find(selector, "show", "web-selector").await?;
            let area = found.and_then(|found| element_area(found, origin, (width, height), self.limits));
            return area.ok_or(PageError::NoElement("web-selector"));
        }
        let whole = area(parsed(edges)?, origin, width, height, self.limits);
        let Some(selector) = self.limits.capture.from() else { return Ok(whole) };
        let found = self.find(selector, "from", "web-from").await?;
        let area = found.and_then(|found| area_from(found, whole, height, self.limits));
        area.ok_or(PageError::NoElement("web-from"))
    }

    /// Expands the frame that fills the window, and those within it, from the inside to the outside.
    async fn unfold_frames(&mut self, main: String) -> Result<(), PageError> {
        let mut frames = vec![main];
        while let (Some(outer), true) = (frames.last(), frames.len() <= MAX_FRAMES) {
            let outer = outer.clone();
            let Some(inner) = self.frame_of(&outer, "frame").await? else { break };
            self.call(&inner, script!("consent.js"), json!({})).await?;
            let has_frame = self.unfold(&inner, None).await?.frame;
            frames.push(inner);
            if !has_frame {
                break;
            }
        }
        while let [.., outer, inner] = frames.as_slice() {
            self.expand_frame(outer, inner, frames.len() == 2).await?;
            frames.pop();
        }
        Ok(())
    }

    /// Expands a frame to the height of its content. A document that consists of frames is as high as its window, so
    /// the window is expanded if the document `is_main`.
    async fn expand_frame(&mut self, outer: &str, inner: &str, is_main: bool) -> Result<(), PageError> {
        for _ in 0..MAX_EXPANSIONS {
            let content = self.unfold(inner, None).await?;
            if content.more < 1.0 {
                break;
            }
            let outer = self.unfold(outer, Some(content.height)).await?;
            if outer.is_frameset && is_main {
                self.tab.set_window(self.limits, outer.height as u32).await?;
            }
        }
        Ok(())
    }

    /// Unfolds a document. `frame_height` is the height of the content of its frame.
    async fn unfold(&mut self, frame: &str, frame_height: Option<f64>) -> Result<Unfolded, PageError> {
        let mut scripted = false;
        let mut unfolded = self.unfold_once(frame, frame_height, scripted).await?;
        for _ in 0..MAX_TURNS {
            if unfolded.hidden_box && !scripted && self.is_scrolled_by_script(frame).await? {
                scripted = true;
            } else if !self.open_shadow_trees(frame, unfolded.hosts).await? {
                break;
            }
            unfolded = self.unfold_once(frame, frame_height, scripted).await?;
        }
        Ok(unfolded)
    }

    async fn unfold_once(
        &mut self,
        frame: &str,
        frame_height: Option<f64>,
        scripted: bool,
    ) -> Result<Unfolded, PageError> {
        let argument =
            json!({ "height": self.limits.height, "frameHeight": frame_height, "scripted": scripted });
        parsed(self.call(frame, script!("unfold.js"), argument).await?)
    }

    /// Gives the scripts the closed shadow trees of the elements that a script has found. Returns true if there are any.
    pub(super) async fn open_shadow_trees(&mut self, frame: &str, hosts: u32) -> Result<bool, PageError> {
        let mut opened = false;
        for index in 0..hosts {
            let host = self.object(frame, &format!("hosts[{index}]")).await?;
            let node = self.tab.command("DOM.describeNode", json!({ "objectId": host })).await?;
            let trees = node["node"]["shadowRoots"].as_array().map(Vec::as_slice).unwrap_or_default();
            let closed = trees.iter().find(|tree| tree["shadowRootType"] == "closed");
            let tree = match closed {
                Some(tree) => {
                    opened = true;
                    let deadline = self.deadline();
                    let context = self.tab.isolated_world(frame, deadline).await?;
                    let node =
                        json!({ "backendNodeId": tree["backendNodeId"], "executionContextId": context });
                    let resolved = self.tab.command("DOM.resolveNode", node).await?;
                    json!({ "objectId": resolved["object"]["objectId"] })
                }
                None => json!({ "value": null }),
            };
            let call = json!({
                "objectId": host,
                "functionDeclaration": format!("function (tree) {{ {STATE}.closedTrees.set(this, tree) }}"),
                "arguments": [tree],
            });
            self.tab.command("Runtime.callFunctionOn", call).await?;
        }
        Ok(opened)
    }

    /// Returns true if a script listens to the mouse wheel at the hidden box that `unfold.js` has found, within it, or
    /// at the window.
    async fn is_scrolled_by_script(&mut self, frame: &str) -> Result<bool, PageError> {
        let found = self.object(frame, "hiddenBox").await?;
        let node = self.tab.command("DOM.describeNode", json!({ "objectId": found })).await?;
        // Listeners are objects of the page's own scripts.
        let node = json!({ "backendNodeId": node["node"]["backendNodeId"] });
        let resolved = self.tab.command("DOM.resolveNode", node).await?;
        let hidden = &resolved["object"]["objectId"];
        for (of_box, depth) in [("return this", 3), ("return document", 1), ("return window", 1)] {
            let function = format!("function () {{ {of_box} }}");
            let call = json!({ "objectId": hidden, "functionDeclaration": function });
            let target = self.tab.command("Runtime.callFunctionOn", call).await?;
            let target = json!({ "objectId": target["result"]["objectId"], "depth": depth });
            let found = self.tab.command("DOMDebugger.getEventListeners", target).await?;
            let is_wheel = |listener: &Value| {
                ["wheel", "mousewheel", "DOMMouseScroll"].iter().any(|name| listener["type"] == *name)
            };
            if found["listeners"].as_array().is_some_and(|listeners| listeners.iter().any(is_wheel)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Calls a function that has to return within the limit for commands.
    async fn call(&mut self, frame: &str, function: &str, argument: Value) -> Result<Value, PageError> {
        let deadline = self.deadline();
        self.tab.call_function_in(frame, function, argument, deadline).await
    }

    /// Returns the id of the frame that an element in the state of the scripts shows.
    pub(super) async fn frame_of(&mut self, frame: &str, name: &str) -> Result<Option<String>, PageError> {
        let node = self.object(frame, name).await?;
        let node = self.tab.command("DOM.describeNode", json!({ "objectId": node })).await?;
        Ok(node["node"]["frameId"].as_str().map(str::to_owned))
    }

    /// Returns the id of an element in the state of the scripts.
    async fn object(&mut self, frame: &str, name: &str) -> Result<String, PageError> {
        let deadline = self.deadline();
        let context = self.tab.isolated_world(frame, deadline).await?;
        let function = format!("() => {STATE}.{name}");
        let call = json!({ "functionDeclaration": function, "executionContextId": context });
        let returned = self.tab.command("Runtime.callFunctionOn", call).await?;
        let object = returned["result"]["objectId"].as_str().map(str::to_owned);
        object.ok_or_else(|| PageError::Command("Runtime.callFunctionOn: no object".to_owned()))
    }

    fn deadline(&mut self) -> FairInstant {
        self.tab.now() + self.limits.command
    }
}

pub(super) fn parsed<T: for<'de> Deserialize<'de>>(returned: Value) -> Result<T, PageError> {
    serde_json::from_value(returned)
        .map_err(|error| PageError::Command(format!("a script returned: {error}")))
}

/// Returns the part of a page to show. `origin` is the left edge of the window, and `width` the width of what can be
/// scrolled to, from its left edge.
fn area(edges: Edges, origin: f64, width: f64, height: f64, limits: &PageLimits) -> Area {
    let window = f64::from(limits.width);
    let most = f64::from(limits.max_width.max(limits.width));
    // What is farther to the left or right cannot be scrolled to.
    let left = edges.left.clamp(-origin.max(0.0), 0.0);
    let right = edges.right.min(width - origin).max(window);
    let shown = (right - left).min(most);
    let left = if left < 0.0 { right - shown } else { left };
    Area {
        left: (origin + left).max(0.0) as u32,
        top: 0,
        origin: origin.max(0.0) as u32,
        width: shown as u32,
        height: (height.ceil() as u32).clamp(1, limits.height),
    }
}

/// Returns the part of a page that an element covers, as far as it can be scrolled to and up to the maximum size; `None`
/// if it covers nothing. `origin` and `width` are as in [`area`].
fn element_area(
    found: ElementBox,
    origin: f64,
    (width, height): (f64, f64),
    limits: &PageLimits,
) -> Option<Area> {
    // Chromium rounds the edges of what it draws, too.
    let side = |from: f64, to: f64, end: f64, most: u32| {
        let (from, to) = (from.round().max(0.0), to.round().min(end.ceil()));
        (to > from).then(|| (from as u32, ((to - from) as u32).min(most)))
    };
    let (left, width) = side(origin + found.left, origin + found.right, width, limits.max_width)?;
    let (top, height) = side(found.top, found.bottom, height, limits.height)?;
    Some(Area { left, top, origin: origin.max(0.0) as u32, width, height })
}

/// Returns the part of a page from the top of an element to the end, up to the maximum height; `None` if there is none.
/// `height` is that of the page.
fn area_from(found: ElementBox, whole: Area, height: f64, limits: &PageLimits) -> Option<Area> {
    let (top, end) = (found.top.round().max(0.0), height.ceil());
    (end > top).then(|| Area { top: top as u32, height: ((end - top) as u32).min(limits.height), ..whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_shown_from_the_top_of_an_element_to_its_end() {
        let limits = PageLimits::default();
        let shown = |top| {
            let found = ElementBox { left: 700.0, top, right: 800.0, bottom: top + 9.0 };
            let whole = area(Edges { left: 0.0, right: 2000.0 }, 0.0, 2000.0, 40_000.5, &limits);
            area_from(found, whole, 40_000.5, &limits)
                .map(|area| (area.left, area.top, area.width, area.height))
        };
        assert_eq!(shown(-3.0), Some((0, 0, 2000, 30_000)));
        assert_eq!(shown(39_900.5), Some((0, 39_901, 2000, 100)));
        assert_eq!(shown(40_001.0), None);
    }

    #[test]
    fn an_element_is_shown_as_far_as_it_can_be_scrolled_to() {
        let limits = PageLimits::default();
        let shown = |[left, top, right, bottom]: [f64; 4], origin| {
            let found = ElementBox { left, top, right, bottom };
            element_area(found, origin, (1680.0, 90_000.0), &limits)
                .map(|area| (area.left, area.top, area.width, area.height))
        };
        assert_eq!(shown([10.4, 20.5, 110.4, 50.6], 0.0), Some((10, 21, 100, 30)));
        assert_eq!(shown([-50.0, -9.0, 3000.0, 80_000.0], 0.0), Some((0, 0, 1680, 30_000)));
        assert_eq!(
            shown([-300.0, 0.0, 100.0, 9.0], 400.0),
            Some((100, 0, 400, 9)),
            "a page that begins at the right"
        );
        for hidden in [[5.0, 5.0, 5.0, 9.0], [-90.0, 5.0, -10.0, 9.0], [5.0, 90_001.0, 9.0, 90_002.0]] {
            assert_eq!(shown(hidden, 0.0), None);
        }
    }

    #[test]
    fn a_page_is_shown_from_its_beginning_up_to_the_maximum_width() {
        let limits = PageLimits::default();
        let shown = |left, right, origin, width| {
            let Area { left, width, .. } = area(Edges { left, right }, origin, width, 900.0, &limits);
            (left, width)
        };
        assert_eq!(shown(0.0, 1280.0, 0.0, 1280.0), (0, 1280));
        assert_eq!(shown(0.0, 3000.0, 0.0, 3000.0), (0, 3000));
        assert_eq!(shown(0.0, 9000.0, 0.0, 9000.0), (0, 5000));
        assert_eq!(shown(-50.0, 3000.0, 0.0, 1280.0), (0, 1280), "cannot be scrolled to");
        // A page that begins at the right, beside a menu of 400 px, and with content of 2,000 and 8,000 px.
        assert_eq!(shown(0.0, 1280.0, 400.0, 1680.0), (400, 1280));
        assert_eq!(shown(-720.0, 1280.0, 720.0, 2000.0), (0, 2000));
        assert_eq!(shown(-6720.0, 1280.0, 6720.0, 8000.0), (3000, 5000));
    }
}
