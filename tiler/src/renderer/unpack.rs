//! Removes the content codings of a source, or reads a [`description`] or a list of [`lists`], in a process of its own,
//! `tiler unpack`, because the bytes may be hostile. The process is in the same sandbox as a renderer. It reads the source
//! from standard input and writes what it unpacks to standard output; its parent copies that to a temporary file, up to a
//! limit, and parses only where a description leads. What a list has, it reads from the pipe.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use edgezoom_content::Failure;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdout;
use tokio::time::timeout;

use super::child;
use super::codings::{Coding, decode};
use super::description::{self, DescriptionRequest, Lead};
use super::error::RenderError;
use super::lists::{self, ListRequest, Listing};
use super::process::RendererProcess;
use super::protocol::ProtocolError;
use super::validator::sanitized;
use super::watchdog::{self, allowed_cpu_time};
use crate::limits::Limits;
use crate::{descriptors, sandbox};

/// Exit code of a process whose source is not in its codings, or cut off.
const DAMAGED: u8 = 65;
/// Exit code of a process whose source lacks one of the codings.
const NOT_APPLIED: u8 = 66;
/// Number of bytes read at once.
const BUFFER_BYTES: usize = 256 << 10;
/// Maximum number of bytes that say where a description leads. Longer URLs are no sources.
const LEAD_BYTES: u64 = 64 << 10;

/// The task of an unpacking process.
#[derive(Debug, Serialize, Deserialize)]
pub struct UnpackRequest {
    task: Task,
    /// Memory for the process, in bytes.
    memory: u64,
    /// Processor time, in seconds.
    cpu_seconds: u64,
}

/// The next step with the source.
#[derive(Debug, Serialize, Deserialize)]
enum Task {
    /// Remove its codings, which are in the order in which they were applied.
    Decode(Vec<Coding>),
    /// Read it as a description.
    Describe(DescriptionRequest),
    /// Read it as a list.
    List(ListRequest),
}

/// An unpacked source.
#[derive(Debug)]
pub struct Unpacked {
    /// Unlinked temporary file, positioned at its start.
    pub file: File,
    /// False if the source is not in its codings, or cut off. The file has what precedes the defect.
    pub is_whole: bool,
    /// True if the source has all of its codings.
    pub is_as_declared: bool,
}

/// Removes the codings of `source`, which are in the order in which they were applied. Creates the unpacked file in
/// `folder`.
///
/// # Errors
/// The process could not be started, or has exceeded a limit.
pub async fn unpack(
    program: &Path,
    source: &File,
    codings: &[Coding],
    folder: &Path,
    limits: &Limits,
) -> Result<Unpacked, RenderError> {
    let (file, code) = run_process(program, source, Task::Decode(codings.to_vec()), folder, limits).await?;
    Ok(Unpacked { file, is_whole: code != DAMAGED, is_as_declared: code == 0 })
}

/// Reads a source as a description. Returns `None` if it is none. Needs a temporary file in `folder`.
///
/// # Errors
/// The description leads to no picture, or the process could not be started or has exceeded a limit.
pub async fn describe(
    program: &Path,
    source: &File,
    request: DescriptionRequest,
    folder: &Path,
    limits: &Limits,
) -> Result<Option<Lead>, RenderError> {
    let (file, _) = run_process(program, source, Task::Describe(request), folder, limits).await?;
    match serde_json::from_reader(BufReader::new(file.take(LEAD_BYTES))) {
        Ok(Ok(lead)) => Ok(lead),
        Ok(Err(failure)) => Err(RenderError::Reported(sanitized(&failure))),
        Err(_) => Err(ProtocolError::Unexpected("a description that leads nowhere").into()),
    }
}

/// Begins to read a list of pictures.
///
/// # Errors
/// The process could not be started.
pub fn list(
    program: &Path,
    source: &File,
    request: ListRequest,
    limits: &Limits,
) -> Result<Listing, RenderError> {
    let (process, stdout, most) = start_process(program, source, Task::List(request), limits)?;
    Ok(Listing::new(stdout, Some(process), (most + 1, limits.renderer_time)))
}

/// Runs a task to its end. Returns its output and the exit code.
async fn run_process(
    program: &Path,
    source: &File,
    task: Task,
    folder: &Path,
    limits: &Limits,
) -> Result<(File, u8), RenderError> {
    let (mut process, stdout, most) = start_process(program, source, task, limits)?;
    let copy = async {
        let file = tempfile::tempfile_in(folder).map_err(RenderError::NotStarted)?;
        let mut unpacked = tokio::fs::File::from_std(file);
        let mut stdout = tokio::io::BufReader::with_capacity(BUFFER_BYTES, stdout.take(most + 1));
        let bytes = tokio::io::copy_buf(&mut stdout, &mut unpacked).await.map_err(RenderError::Pipe)?;
        if bytes > most {
            return Err(RenderError::UnpacksTooLarge(most));
        }
        unpacked.flush().await.map_err(RenderError::Pipe)?;
        let mut file = unpacked.into_std().await;
        file.rewind().map_err(RenderError::Pipe)?;
        Ok(file)
    };
    let file = timeout(limits.renderer_time, copy).await.unwrap_or(Err(RenderError::TimedOut))?;
    let code = process.exit_code().await?;
    match u8::try_from(code) {
        Ok(code @ (0 | DAMAGED | NOT_APPLIED)) => Ok((file, code)),
        _ => Err(process.cause_of_death().await),
    }
}

/// Starts a task. Returns its process, its output, and the maximum size of this in bytes.
fn start_process(
    program: &Path,
    source: &File,
    task: Task,
    limits: &Limits,
) -> Result<(RendererProcess, ChildStdout, u64), RenderError> {
    let packed = watchdog::length(source).unwrap_or(0);
    let cpu = allowed_cpu_time(limits, packed, 0);
    let request =
        UnpackRequest { task, memory: limits.renderer_memory, cpu_seconds: cpu.as_secs().saturating_add(1) };
    let request = serde_json::to_string(&request).map_err(|error| RenderError::NotStarted(error.into()))?;
    let input = descriptors::read_only(source).map_err(RenderError::NotStarted)?;
    let (process, stdout) =
        RendererProcess::start(program, "unpack", request, input, cpu).map_err(RenderError::NotStarted)?;
    Ok((process, stdout, limits.unpacked_bytes(packed)))
}

/// Unpacks as requested, in the process itself.
#[must_use]
pub fn run(request: &UnpackRequest) -> ExitCode {
    match start(request) {
        Ok((source, mut out)) => match &request.task {
            Task::Decode(codings) => match decode(codings, source, &mut out) {
                Ok(true) => ExitCode::SUCCESS,
                Ok(false) => ExitCode::from(NOT_APPLIED),
                Err(_) => ExitCode::from(DAMAGED),
            },
            Task::Describe(request) => {
                let lead: Result<Option<Lead>, Failure> = description::read(source, request);
                // Fails only if the parent is gone.
                serde_json::to_writer(out, &lead).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
            }
            Task::List(request) => {
                let out = BufWriter::with_capacity(BUFFER_BYTES, out);
                lists::write(source, request, out).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
            }
        },
        Err(error) => {
            eprintln!("the renderer could not enter its sandbox: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Enters the sandbox. Returns the source and the file for what is unpacked.
fn start(request: &UnpackRequest) -> io::Result<(BufReader<File>, File)> {
    sandbox::close_inherited(&[])?;
    let source = BufReader::with_capacity(BUFFER_BYTES, child::duplicate(io::stdin())?);
    let out = child::duplicate(io::stdout())?;
    let watched = child::duplicate(io::stdout())?;
    let cpu = Duration::from_secs(request.cpu_seconds);
    child::enter_sandbox(watched, &sandbox::Limits { memory: request.memory, cpu, file: None })?;
    Ok((source, out))
}
