//! The ledger and the journal of a run: begun, resumed, and abandoned.

use std::path::{Path, PathBuf};

use reticent_core::budget::Unlimited;
use reticent_ledger::{Ledger, Run, State, Token};
use reticent_tables::Schema;
use serde_json::Value;

use crate::cancel::Cancel;
use crate::charge::{Account, Charge, Ended, Fate, Journalled, OnProgress};
use crate::error::{Error, ErrorKind};
use crate::journal::{self, Fault, Header, Journal, Left, Replay, Tail};
use crate::session;

/// Where a run goes, and what it is charged to.
pub(crate) struct Place<'a> {
    /// The model file. Without one there is no journal, and the run cannot be resumed.
    pub(crate) out: Option<&'a Path>,
    pub(crate) ledger: Option<&'a (PathBuf, String)>,
    pub(crate) schema: &'a Schema,
    pub(crate) kind: RunKind,
    /// The name of the model, or of the models.
    pub(crate) model: &'a str,
    pub(crate) private: bool,
    pub(crate) resume: bool,
    pub(crate) overwrite: bool,
}

/// What a run is for, in its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunKind {
    Fit,
    Evaluation,
}

impl RunKind {
    /// What the ledger calls it.
    fn verb(self) -> &'static str {
        if self == Self::Fit { "fit" } else { "evaluate" }
    }

    fn noun(self) -> &'static str {
        if self == Self::Fit { "fit" } else { "evaluation" }
    }

    /// What it writes.
    fn output(self) -> &'static str {
        if self == Self::Fit { "model" } else { "evaluation" }
    }
}

impl Place<'_> {
    /// Refuses to write over a file, before anything is spent. What the run itself has written before a crash may be replaced.
    pub(crate) fn check_vacant(&self) -> Result<(), Error> {
        match self.out {
            Some(out) if !self.overwrite && !self.resume && std::fs::symlink_metadata(out).is_ok() => {
                Err(exists(out))
            }
            _ => Ok(()),
        }
    }

    /// A failure before a run is resumed leaves it as it was.
    pub(crate) fn kept(&self, error: Error) -> Error {
        if !self.resume {
            return error;
        }
        let kept = "what was charged stays charged, and nothing is lost as long as the journal is kept";
        let hint = error.hint().map_or_else(String::new, |hint| format!("{hint}; ")) + kept;
        let message = error.message().to_owned();
        error.reworded(message, Some(hint))
    }

    /// The ledger and the journal of a run, which is resumed if it should be. Nothing is charged yet.
    pub(crate) fn charge(
        &self,
        of: &Value,
        on_progress: Option<OnProgress>,
        cancel: Cancel,
    ) -> Result<Charge, Error> {
        let (account, journal) = self.begun_or_resumed(of).map_err(|error| self.kept(error))?;
        Ok(Charge::new(account, journal, on_progress, cancel))
    }

    fn begun_or_resumed(&self, of: &Value) -> Result<(Account, Option<Journalled>), Error> {
        if !self.private {
            return Ok((Account::None(Unlimited), None));
        }
        let opened = self.ledger.map(|(file, _)| Ledger::open(file)).transpose()?;
        let fingerprint = match (&opened, self.ledger) {
            (Some(ledger), Some((_, data_set))) => session::fingerprint(ledger, data_set, self.schema)?,
            _ => String::new(),
        };
        let Some(out) = self.out else {
            if self.resume {
                return Err(Error::settings(
                    "only a run that writes a file can be resumed",
                    "name it with `out`",
                ));
            }
            return Ok((self.account(opened, &fingerprint, None), None));
        };
        let path = journal::beside(out);
        let Begun { journal, replay, token, digests } = match self.left(of, &path, opened.as_ref())? {
            Some(left) => self.resumed(out, left, opened.as_ref())?,
            None => begin(of, &path, opened.as_ref())?,
        };
        let place = std::path::absolute(&path).unwrap_or(path);
        let account = self.account(opened, &fingerprint, token.map(|token| (token, place, digests)));
        Ok((account, Some((journal, replay))))
    }

    fn account(
        &self,
        ledger: Option<Ledger>,
        fingerprint: &str,
        journal: Option<(Token, PathBuf, Vec<String>)>,
    ) -> Account {
        let (Some(ledger), Some((_, data_set))) = (ledger, self.ledger) else {
            return Account::None(Unlimited);
        };
        let run = Run::new(ledger, data_set, fingerprint, &format!("{} {}", self.kind.verb(), self.model));
        Account::DataSet(Box::new(match journal {
            Some((token, place, digests)) => run.journalled(token, place, digests),
            None => run,
        }))
    }

    fn resumed(&self, out: &Path, left: Left, ledger: Option<&Ledger>) -> Result<Begun, Error> {
        if !self.overwrite && std::fs::symlink_metadata(out).is_ok() {
            let found = std::fs::read(out).map(|bytes| journal::sha256(&bytes)).ok();
            if !found.is_some_and(|found| left.models.contains(&found)) {
                return Err(exists(out));
            }
        }
        let token = left.header.token.as_deref().map(Token::from_text);
        let nonce = ledger.map(Ledger::token).transpose()?;
        let mut digests: Vec<String> = left.digests.iter().map(journal::hex).collect();
        let path = journal::beside(out);
        let (journal, replay) = left
            .resume(nonce.map_or_else(String::new, |nonce| nonce.text().to_owned()))
            .map_err(|error| Error::not_written(&path, &error))?;
        digests.push(journal.digest());
        Ok(Begun { journal, replay: Some(replay), token, digests })
    }

    /// The journal that a run with this model file has left, if it is to be resumed. One in which nothing is, and for which nothing
    /// is charged, is removed.
    fn left(&self, of: &Value, path: &Path, ledger: Option<&Ledger>) -> Result<Option<Left>, Error> {
        let wrong = |why: &str, hint: &str| Error::data(format!("{}: {why}", path.display()), hint);
        let left = match Left::open(path) {
            Ok(left) => left,
            Err(Fault::Missing) if !self.resume => return Ok(None),
            Err(Fault::Missing) => {
                let hint = "leave `resume` out to start anew; `Session::account` names the journals of runs that can be resumed";
                return Err(wrong("there is no journal to resume from", hint));
            }
            Err(Fault::InUse) => {
                let hint = "wait for it, or choose another `out`";
                return Err(wrong("another run with this file is in progress", hint));
            }
            Err(Fault::NotAJournal) => {
                let hint = "restore a copy of it, or delete it to abandon that run";
                return Err(wrong("this is no journal of a run, or it is damaged", hint));
            }
            Err(Fault::OtherVersion) => {
                let hint = "resume the run with the version that began it, or delete the journal to abandon that run";
                return Err(wrong("this journal was written by another version of this program", hint));
            }
            Err(Fault::Io(error)) => {
                let failed = wrong(&error.to_string(), "check the disk and the permissions");
                return Err(failed.with_kind(ErrorKind::Io));
            }
        };
        let token = left.header.token.as_deref().map(Token::from_text);
        let charge = match (&token, ledger) {
            (Some(token), Some(ledger)) => ledger.look_up(token)?,
            _ => None,
        };
        let state = charge.as_ref().map(|(state, _)| *state);
        let known = token.is_none() || ledger.is_some();
        if left.releases == 0
            && known
            && matches!(state, None | Some(State::Cancelled))
            && left.tail != Tail::Damaged
        {
            left.remove().map_err(|error| Error::not_written(path, &error))?;
            return Ok(None);
        }
        if !self.resume {
            let hint = "continue it with `resume` at no further cost, choose another `out`, or delete the journal to abandon that run";
            return Err(wrong("a run with this file was interrupted", hint));
        }
        check_same(&left.header.of, of, &wrong)?;
        let cut = left.end();
        match (token.is_some(), charge) {
            (false, _) if left.tail == Tail::Damaged => {
                let why = format!("the journal is damaged from byte {cut} on");
                Err(wrong(&why, "restore a copy of it, or delete it to abandon that run"))
            }
            (true, None) => {
                Err(wrong("the run is not in this ledger", "give the `ledger` that it is charged to"))
            }
            (true, Some((State::Started | State::Settled, recorded)))
                if !recorded.as_ref().is_some_and(|digest| {
                    left.digests.iter().any(|known| journal::hex(known) == *digest)
                }) =>
            {
                let why = match left.tail {
                    Tail::None => "the run has gone further than this journal".to_owned(),
                    _ => format!("the journal is damaged from byte {cut} on, and the run had gone further"),
                };
                Err(wrong(&why, "only the newest journal of a run can be resumed: put it in this place"))
            }
            _ => Ok(Some(left)),
        }
    }

    /// The error of a run that has failed or was stopped: what stays charged, and how to resume.
    pub(crate) fn unfinished(&self, charge: &Charge, stopped: bool, error: Error) -> Error {
        let ended = charge.abandon();
        let (run, output) = (self.kind.noun(), self.kind.output());
        if !self.private {
            let message = format!("stopped; no {output} was written, and nothing was charged");
            return if stopped { Error::new(ErrorKind::Stopped, message, "start anew") } else { error };
        }
        let Ended { fate, fault, refused } = ended;
        let mut kind = if refused { ErrorKind::Budget } else { error.kind() };
        let (mut message, mut hint) = (error.message().to_owned(), error.hint().map(str::to_owned));
        if stopped {
            (kind, message, hint) = (ErrorKind::Stopped, format!("stopped; no {output} was written"), None);
        } else if let Some(fault) = fault {
            let why = Error::of(ErrorKind::Io, &fault, "check the disk");
            kind = ErrorKind::Io;
            message = format!("the run could not be finished: {}", why.message());
            hint = why.hint().map(str::to_owned);
        }
        let cause = hint.map_or_else(String::new, |hint| format!("{hint}; "));
        let (kept, todo) = match (fate, self.ledger) {
            (Fate::Void, _) => {
                let hint = if cause.is_empty() { "start anew; ".to_owned() } else { cause };
                let message = if stopped { format!("{message}, and nothing was charged") } else { message };
                return Error::new(kind, message, hint.trim_end_matches("; "));
            }
            (Fate::Reserved(Some(id)), Some((ledger, _))) => (
                "what was reserved stays charged, and nothing was released",
                format!(
                    "`Ledger::cancel` gives reservation {id} of {} back, or the same {run} with `resume` uses it",
                    ledger.display()
                ),
            ),
            (Fate::Reserved(_), _) => (
                "what was reserved, if anything, stays charged, and nothing was released",
                format!("the same {run} with `resume` uses it"),
            ),
            (Fate::Resumable, charged) => (
                if charged.is_some() {
                    "what was reserved stays charged in the ledger"
                } else {
                    "what has been released stays spent"
                },
                match self.out.map(journal::beside) {
                    Some(journal) => format!(
                        "the same {run} with `resume` continues from {} at no further cost",
                        journal.display()
                    ),
                    None => "name a file beforehand with `out`, so that a run can be resumed".to_owned(),
                },
            ),
        };
        // Once something is charged it is no longer a matter of bad settings.
        let kind = if kind == ErrorKind::Settings { ErrorKind::Data } else { kind };
        Error::new(kind, format!("{message}; {kept}"), format!("{cause}{todo}"))
    }
}

fn exists(out: &Path) -> Error {
    let message = format!("{} already exists, and may have cost budget", out.display());
    Error::new(ErrorKind::Io, message, "choose another `out`, or replace the file with `overwrite`")
}

/// A run with a journal.
struct Begun {
    journal: Journal,
    replay: Option<Replay>,
    token: Option<Token>,
    digests: Vec<String>,
}

fn begin(of: &Value, path: &Path, ledger: Option<&Ledger>) -> Result<Begun, Error> {
    let token = ledger.map(Ledger::token).transpose()?;
    let header = Header { of: of.clone(), token: token.as_ref().map(|token| token.text().to_owned()) };
    // Before the ledger has the run, so that a run that was killed in between finds itself again.
    let journal = Journal::create(path, &header).map_err(|error| Error::not_written(path, &error))?;
    let digests = vec![journal.digest()];
    Ok(Begun { journal, replay: None, token, digests })
}

/// A run that is resumed must be the same: what differs is named.
fn check_same(before: &Value, now: &Value, wrong: &dyn Fn(&str, &str) -> Error) -> Result<(), Error> {
    if before == now {
        return Ok(());
    }
    let names = |value: &Value| value.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>());
    let mut names = [names(before).unwrap_or_default(), names(now).unwrap_or_default()].concat();
    names.sort();
    names.dedup();
    names.retain(|name| before.get(name) != now.get(name));
    let hint = "give the options, schema and data that the run was begun with";
    Err(wrong(&format!("the journal is of another run: it differs in {}", names.join(", ")), hint))
}
