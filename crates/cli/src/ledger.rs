//! `reticent ledger`

use std::path::{Path, PathBuf};

use clap::Subcommand;
use reticent::{
    Account, Amount, Charge, Composition, Error, Ledger, Privacy, Session, State, Unfinished, visible,
};
use reticent_report::at_least;

use crate::data;
use crate::event::Neighbours;
use crate::output::{Failure, json, rounded_up, table};

/// Manage the budgets of data sets in a ledger file.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Give a data set a budget; creates the file if there is none.
    #[command(after_help = "\
The cap is final: it is what may ever be spent on this data set. Its name has letters a to z,
digits, and '-', '_' or '.' between them. The file can be read and written by its owner alone, unless that is changed.

Example:
  reticent ledger init budget.ledger --data-set trial --epsilon 2 --delta 1e-5")]
    Init {
        /// The ledger.
        file: PathBuf,
        /// Your name for the data set.
        #[arg(long)]
        data_set: String,
        /// The epsilon that may be spent in total.
        #[arg(long, allow_negative_numbers = true)]
        epsilon: f64,
        /// The delta that may be spent in total.
        #[arg(long, allow_negative_numbers = true)]
        delta: f64,
        /// Which data sets are neighbours.
        #[arg(long, value_enum, default_value = "replace")]
        adjacency: Neighbours,
        /// The schema file; runs with another schema will be refused.
        #[arg(long)]
        schema: Option<PathBuf>,
        /// The column whose value all rows of a protected person share, if it is not in the schema file; runs with another unit will be refused.
        #[arg(long, value_name = "COLUMN", conflicts_with = "schema")]
        privacy_unit: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what each data set has left, and which runs are not finished.
    #[command(after_help = "\
Several runs cost less together than the sum of their costs: what they spend is their joint cost at the delta of the cap, and
what remains is the largest epsilon of a run of one Gaussian release there. A run that was interrupted is named with the
journal that it can be resumed from. The file is only read, so it may be on a read-only medium.

Example:
  reticent ledger show budget.ledger
  reticent ledger show budget.ledger --data-set trial --epsilon 0.5 --delta 1e-6")]
    Show {
        /// The ledger.
        file: PathBuf,
        /// Only this data set.
        #[arg(long)]
        data_set: Option<String>,
        /// Show what a next run of one Gaussian release with this epsilon would leave.
        #[arg(long, requires = "delta", allow_negative_numbers = true)]
        epsilon: Option<f64>,
        /// The delta of that run.
        #[arg(long, requires = "epsilon", allow_negative_numbers = true)]
        delta: Option<f64>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the charges of a data set.
    #[command(after_help = "\
Example:
  reticent ledger history budget.ledger --data-set trial")]
    History {
        /// The ledger.
        file: PathBuf,
        /// The data set.
        #[arg(long)]
        data_set: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Cancel a reservation of which nothing was released.
    #[command(after_help = "\
Only a reservation that never started can be cancelled; `history` shows its number.

Example:
  reticent ledger cancel budget.ledger 7")]
    Cancel {
        /// The ledger.
        file: PathBuf,
        /// The number of the reservation.
        reservation: i64,
    },
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    match &args.action {
        Action::Init { file, data_set, epsilon, delta, adjacency, schema, privacy_unit, json } => {
            let cap = Privacy::new(*epsilon, *delta, adjacency.adjacency()).map_err(Error::from)?;
            let schema = schema.as_deref().map(data::schema).transpose()?;
            match privacy_unit {
                Some(column) => Session::create_for_units(file, data_set, &cap, column)?,
                None => Session::create(file, data_set, &cap, schema.as_ref())?,
            };
            show(&open(file)?, file, Some(data_set), None, *json)
        }
        Action::Show { file, data_set, epsilon, delta, json } => {
            let next = epsilon.zip(*delta).map(|(epsilon, delta)| Amount::new(epsilon, delta));
            if let Some(Amount { epsilon, delta }) = next {
                Privacy::new(epsilon, delta, Neighbours::Replace.adjacency()).map_err(Error::from)?;
            }
            show(&open(file)?, file, data_set.as_deref(), next, *json)
        }
        Action::History { file, data_set, json: as_json } => {
            let charges = open(file)?.history(data_set).map_err(Error::from)?;
            Ok(if *as_json { json(&charges) } else { history(&charges) })
        }
        Action::Cancel { file, reservation } => {
            Ledger::open(file).and_then(|mut ledger| ledger.cancel(*reservation)).map_err(Error::from)?;
            Ok(format!("reservation {reservation} was cancelled\n"))
        }
    }
}

fn open(file: &Path) -> Result<Ledger, Failure> {
    Ok(Ledger::open_to_read(file).map_err(Error::from)?)
}

fn show(
    ledger: &Ledger,
    file: &Path,
    only: Option<&str>,
    next: Option<Amount>,
    as_json: bool,
) -> Result<String, Failure> {
    let ids = match only {
        Some(id) => vec![id.to_owned()],
        None => ledger.data_sets().map_err(Error::from)?.into_iter().map(|data_set| data_set.id).collect(),
    };
    let accounts = ids.iter().map(|id| ledger.account(id)).collect::<Result<Vec<_>, _>>();
    let accounts = accounts.map_err(Error::from)?;
    if as_json {
        return Ok(json(&accounts.iter().map(|account| Shown::new(account, next)).collect::<Vec<_>>()));
    }
    let header = ["data set", "adjacency", "", "cap", "spent", "remaining", "runs"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for account in &accounts {
        let (cap, spent, left) = (account.data_set.cap, account.spent, account.remaining);
        let runs = account.counts.reserved + account.counts.started + account.counts.settled;
        let line = |name: &str, value: fn(&Amount) -> f64| {
            let spent = value(&spent);
            let spent = if spent == 0.0 { "0".to_owned() } else { rounded_up(spent) };
            [name.to_owned(), at_least(value(&cap)), spent, at_least(value(&left))]
        };
        let first = [account.data_set.id.clone(), account.data_set.adjacency.clone()];
        let epsilon = line("epsilon", |amount| amount.epsilon);
        rows.push(first.into_iter().chain(epsilon).chain([runs.to_string()]).collect());
        let delta = line("delta", |amount| amount.delta);
        let unit = reticent::privacy_unit_of(&account.data_set)
            .map_or_else(String::new, |column| format!("per {column}"));
        rows.push([String::new(), unit].into_iter().chain(delta).collect());
    }
    let unfinished: String = accounts
        .iter()
        .flat_map(|account| account.unfinished.iter().map(|run| describe_unfinished(run, file)))
        .collect();
    let pictures: String = accounts.iter().map(|account| picture(account, next)).collect();
    Ok(table(&rows) + "\n" + &pictures + &unfinished)
}

/// An account, and what it would be after a next run.
#[derive(serde::Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    account: &'a Account,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Next>,
}

#[derive(serde::Serialize)]
struct Next {
    requested: Amount,
    /// None if the run is refused.
    after: Option<Account>,
}

impl<'a> Shown<'a> {
    fn new(account: &'a Account, next: Option<Amount>) -> Self {
        let next = next.map(|requested| Next { requested, after: account.after(requested) });
        Self { account, next }
    }
}

/// Characters of a bar.
const BAR: usize = 40;

/// The share of epsilon that is spent, as a bar, and what a next run would leave.
fn picture(account: &Account, next: Option<Amount>) -> String {
    let Account { data_set, spent, sum, remaining, composition, .. } = account;
    let share = (spent.epsilon / data_set.cap.epsilon).clamp(0.0, 1.0);
    // Nothing spent is no mark, and what is not all is not a full bar.
    let marks = ((share * BAR as f64).ceil() as usize).min(if share < 1.0 { BAR - 1 } else { BAR });
    let bar = "#".repeat(marks) + &".".repeat(BAR - marks);
    let joint = *composition == Some(Composition::Joint);
    let how = if joint {
        format!(
            " at delta {}, the joint cost of all runs (their sum: epsilon {}, delta {})",
            at_least(data_set.cap.delta),
            rounded_up(sum.epsilon),
            rounded_up(sum.delta)
        )
    } else {
        String::new()
    };
    let mut text =
        format!("{} [{bar}] {:.0} % of epsilon spent{how}\n", visible::line(&data_set.id), 100.0 * share);
    if joint {
        text += &format!(
            "  remaining: a run of one Gaussian release fits with up to epsilon {} at delta {}\n",
            at_least(remaining.epsilon),
            at_least(remaining.delta)
        );
    }
    if let Some(next) = next {
        text += &match account.after(next) {
            None => format!("  after a run of {next}: it would be refused\n"),
            Some(after) => format!(
                "  after a run of {next}: epsilon {} spent, epsilon {} at delta {} remaining\n",
                rounded_up(after.spent.epsilon),
                at_least(after.remaining.epsilon),
                at_least(after.remaining.delta)
            ),
        };
    }
    text
}

/// A run that is charged and not settled, with how to resume or cancel it.
fn describe_unfinished(run: &Unfinished, file: &Path) -> String {
    let Unfinished { id, state, purpose, reserved_at, journal, .. } = run;
    let cancel = format!("`reticent ledger cancel {} {id}` cancels the charge", file.display());
    let what = match (state, journal) {
        (_, Some(journal)) if Path::new(journal).is_file() => {
            let back = if *state == State::Reserved { format!(", or {cancel}") } else { String::new() };
            format!("it is running, or the same command with --resume continues it from {journal}{back}")
        }
        (State::Reserved, _) => format!("nothing was released, and {cancel}"),
        (_, Some(journal)) => format!("it can be resumed when its journal is at {journal} again"),
        (_, None) => "it is running, or it ended and stays charged".to_owned(),
    };
    format!("\nrun {id} ({purpose}, {state}, reserved {reserved_at}): {what}\n")
}

fn history(charges: &[Charge]) -> String {
    let header = ["no.", "reserved", "state", "epsilon", "delta", "purpose"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(charges.iter().map(|charge| {
        vec![
            charge.id.to_string(),
            charge.reserved_at.clone(),
            charge.state.to_string(),
            rounded_up(charge.charged.epsilon),
            rounded_up(charge.charged.delta),
            charge.purpose.clone(),
        ]
    }));
    table(&rows)
}
