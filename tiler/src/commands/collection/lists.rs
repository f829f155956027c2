//! Opens lists and those that they lead to. All are read in the renderer's sandbox, the owner's own ones, too. A list
//! from elsewhere can add entries, but not change or remove any by an id.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use edgezoom_content::{AddressPolicy, SourceUrl};
use edgezoom_tiler::OWN_PROGRAM;
use edgezoom_tiler::bot::{BotSettings, UserAgent};
use edgezoom_tiler::fetch::Fetcher;
use edgezoom_tiler::limits::Limits;
use edgezoom_tiler::renderer::unpack::{list, unpack};
use edgezoom_tiler::renderer::{Coding, ListRequest, Listing};
use serde_json::{Map, Value};
use url::Url;

/// Maximum size of a list, unpacked. A million rows have about 300 MB.
const LIST_BYTES: u64 = 1 << 30;
/// Maximum number of lists that a list may lead to, such as the manifests of a IIIF collection.
const MAX_LISTS: usize = 20_000;
/// Maximum number of lists that lead to a list.
const MAX_DEPTH: usize = 8;
/// Members of an entry that a list from elsewhere may have.
const FOREIGN: [&str; 6] = ["url", "title", "alt", "credit", "rights", "options"];

/// Reads lists.
pub(super) struct Lists {
    fetcher: Fetcher,
    limits: Limits,
    folder: PathBuf,
}

/// The lists that are still to be read, and those that were found.
pub(super) struct Walk<'a> {
    lists: &'a Lists,
    /// The next one is the last.
    open: Vec<(Place, usize)>,
    found: HashSet<SourceUrl>,
}

/// A list's place.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Url(SourceUrl),
    File(PathBuf),
    StandardInput,
}

/// A list that was opened.
pub(super) struct Opened {
    /// Name for messages.
    pub(super) name: String,
    /// What it has, or why it could not be opened.
    pub(super) listing: anyhow::Result<Listing>,
    is_foreign: bool,
    depth: usize,
}

impl Lists {
    pub(super) fn new(policy: AddressPolicy, edge: &Url) -> anyhow::Result<Self> {
        let folder = std::env::temp_dir();
        let limits =
            Limits { source_bytes: LIST_BYTES, renderer_folder: folder.clone(), ..Limits::default() };
        let bot = BotSettings { user_agent: UserAgent::of_service(edge, None), respects_robots: true };
        let fetcher = Fetcher::new(policy, limits.clone(), folder.clone(), bot)?;
        Ok(Self { fetcher, limits, folder })
    }

    /// Begins with the lists that a user has named.
    pub(super) fn walk(&self, named: &[String]) -> anyhow::Result<Walk<'_>> {
        let places = named.iter().map(|name| Place::of(name)).collect::<anyhow::Result<Vec<_>>>()?;
        let found = places.iter().filter_map(|place| match place {
            Place::Url(url) => Some(url.clone()),
            Place::File(_) | Place::StandardInput => None,
        });
        let found = found.collect();
        let open = places.into_iter().rev().map(|place| (place, 0)).collect();
        Ok(Walk { lists: self, open, found })
    }

    async fn open(&self, place: &Place) -> anyhow::Result<Listing> {
        let (mut file, codings, url) = match place {
            Place::Url(url) => {
                let fetched = self.fetcher.fetch(url, |_| {}).await?;
                (fetched.file, fetched.codings, Some(fetched.url.as_str().to_owned()))
            }
            Place::File(path) => (opened(path)?, vec![], None),
            Place::StandardInput => (copied(io::stdin().lock())?, vec![], None),
        };
        if !codings.is_empty() {
            file = self.unpacked(&file, &codings).await?;
        }
        let mut head = [0; 2];
        if file.read_at(&mut head, 0)? == head.len() && head == [0x1f, 0x8b] {
            file = self.unpacked(&file, &[Coding::Gzip]).await?;
        }
        let program = Path::new(OWN_PROGRAM);
        Ok(list(program, &file, ListRequest { url }, &self.limits)?)
    }

    async fn unpacked(&self, file: &File, codings: &[Coding]) -> anyhow::Result<File> {
        let unpacked = unpack(Path::new(OWN_PROGRAM), file, codings, &self.folder, &self.limits).await?;
        if !unpacked.is_whole {
            bail!("its compressed data is damaged or cut off");
        }
        Ok(unpacked.file)
    }
}

impl Walk<'_> {
    /// Opens the next list, which may be large.
    pub(super) async fn next(&mut self) -> Option<Opened> {
        let (place, depth) = self.open.pop()?;
        let listing = self.lists.open(&place).await;
        Some(Opened { name: place.name(), listing, is_foreign: matches!(place, Place::Url(_)), depth })
    }

    /// Adds lists that a list leads to, which are read next. Returns the reason if one cannot be.
    pub(super) fn add(&mut self, from: &Opened, urls: &[String]) -> Vec<String> {
        let mut refused = vec![];
        let mut added = vec![];
        for url in urls {
            match SourceUrl::parse(url) {
                Err(error) => refused.push(format!("{url}: {error}")),
                Ok(_) if from.depth == MAX_DEPTH => {
                    refused.push(format!("{url}: lists lead to lists more than {MAX_DEPTH} times"));
                }
                Ok(url) if self.found.contains(&url) => {}
                Ok(_) if self.found.len() == MAX_LISTS => {
                    refused.push(format!("more than {MAX_LISTS} further lists; add the rest by their URLs"));
                    break;
                }
                Ok(url) => {
                    self.found.insert(url.clone());
                    added.push((Place::Url(url), from.depth + 1));
                }
            }
        }
        self.open.extend(added.into_iter().rev());
        refused
    }
}

impl Opened {
    /// Returns an entry as a line to send. `None`: it has nothing that a list from elsewhere may have.
    pub(super) fn line(&self, mut entry: Map<String, Value>) -> Option<Map<String, Value>> {
        if self.is_foreign {
            entry.retain(|name, _| FOREIGN.contains(&name.as_str()));
            entry.contains_key("url").then_some(entry)
        } else {
            Some(entry)
        }
    }
}

impl Place {
    fn of(name: &str) -> anyhow::Result<Self> {
        if name == "-" {
            return Ok(Self::StandardInput);
        }
        if name.starts_with("http://") || name.starts_with("https://") {
            return Ok(Self::Url(SourceUrl::parse(name).with_context(|| name.to_owned())?));
        }
        Ok(Self::File(name.into()))
    }

    fn name(&self) -> String {
        match self {
            Self::Url(url) => url.as_str().to_owned(),
            Self::File(path) => path.display().to_string(),
            Self::StandardInput => "standard input".to_owned(),
        }
    }
}

/// Opens a file. A pipe, such as a shell's `<(…)`, is copied.
fn opened(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { copied(file) }
}

/// Copies a stream to a file without a name, which a process can read from its start.
fn copied(stream: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    if io::copy(&mut stream.take(LIST_BYTES + 1), &mut file)? > LIST_BYTES {
        return Err(io::Error::other(format!("it is larger than {} MiB", LIST_BYTES >> 20)));
    }
    file.rewind()?;
    Ok(file)
}
