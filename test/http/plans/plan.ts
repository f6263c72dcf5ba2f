import { isSmall } from './statistics.ts';

/** A node of a plan as `explain (format json)` shows it. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly 'Plan Rows': number;
  readonly 'Parent Relationship'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** The greatest number of rows that a statement reads of a table: a page, or a batch. */
const maxRows = 1_000;
/** Nodes that read all their rows before they return the first one. */
const reading = /^(?:Aggregate|Hash|Sort|WindowAgg|SetOp|Materialize|CTE Scan)$/;
const ofIndex = /^(?:Index Scan|Index Only Scan|Bitmap Heap Scan)$/;

/** Finds what a plan reads beyond its page. `isCut` states that a limit ends the node early. */
export function findExcess(node: PlanNode, isCut = false): readonly string[] {
  const { 'Node Type': type, 'Relation Name': table = '', Plans: children = [] } = node;
  const found: string[] = [];
  if (table !== '' && !table.startsWith('pg_') && !isSmall(table)) {
    const hasCondition = node['Index Cond'] !== undefined || type === 'Bitmap Heap Scan';
    if (type === 'Seq Scan') found.push(`reads all of ${table}`);
    else if (ofIndex.test(type)) {
      if (node['Plan Rows'] > maxRows && !isCut) {
        found.push(`reads ${node['Plan Rows']} rows of ${table}`);
      } else if (!hasCondition && node.Filter !== undefined) {
        found.push(`walks an index of ${table} through rows that do not match`);
      }
    }
  }
  const cuts = type === 'Limit' || (isCut && !reading.test(type));
  for (const child of children) {
    const isPart = /^(?:SubPlan|InitPlan)$/.test(child['Parent Relationship'] ?? '');
    found.push(...findExcess(child, cuts && !isPart));
  }
  return found;
}
