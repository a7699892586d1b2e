import { z } from 'zod'
import { AssumptionId, QuestionId } from '../../src-shared/ids.ts'
import {
  AskQuestion,
  CompleteStage,
  type McpCall,
  RecordAssumption,
  ReportProgress,
} from '../../src-shared/mcp-tools.ts'

type Tool<S extends z.ZodType> = {
  description: string
  schema: S
  /** Arguments that are right, for the text of a refusal. */
  example: z.input<S>
  make: (fields: z.output<S>, newId: () => string) => McpCall
}

const tool = <S extends z.ZodType>(made: Tool<S>): Tool<S> => made

const TOOLS = {
  ask_question: tool({
    description:
      'Ask for a decision that is costly or impossible to reverse, or a matter of taste or product, and that the repository does not settle. It returns at once, without the answer: end your turn then, and the answer arrives as the next message.',
    schema: AskQuestion,
    example: {
      question: 'Which database do the orders go to?',
      context: 'The ticket names none; the other services use PostgreSQL.',
      options: [
        { label: 'PostgreSQL', detail: 'One more table in the shared server.', recommended: true },
        { label: 'SQLite', detail: 'A file of its own; moving it later costs a day.' },
      ],
    },
    make: (asked, newId) => ({
      tool: 'ask_question',
      question: QuestionId.parse(newId()),
      asked,
    }),
  }),
  record_assumption: tool({
    description:
      'Record a decision that you took yourself because it is cheap to reverse; a person confirms or overturns it later. Then go on working.',
    schema: RecordAssumption,
    example: {
      assumption: 'Prices are shown with two decimals.',
      reason: 'Every other page does so.',
      alternatives: ['Whole numbers'],
      reversible_by: 'Changing formatPrice in src/price.ts.',
    },
    make: (recorded, newId) => ({
      tool: 'record_assumption',
      assumption: AssumptionId.parse(newId()),
      recorded,
    }),
  }),
  report_progress: tool({
    description: 'Say how far the work is, in one line that people see on the ticket.',
    schema: ReportProgress,
    example: { summary: 'The importer reads every format; tests are next.', done: 2, total: 3 },
    make: (progress) => ({ tool: 'report_progress', progress }),
  }),
  complete_stage: tool({
    description:
      'Say that your work on the ticket is over: done, needs_review when a person should look at it first, or failed. End your turn then.',
    schema: CompleteStage,
    example: { summary: 'The importer is in; all tests pass.', outcome: 'done' },
    make: (completed) => ({ tool: 'complete_stage', completed }),
  }),
}

type ToolName = keyof typeof TOOLS

const isToolName = (name: string): name is ToolName => Object.hasOwn(TOOLS, name)

/** As the protocol lists them: names, descriptions and JSON schemas of the arguments. */
export function listTools() {
  return Object.entries(TOOLS).map(([name, { description, schema }]) => {
    const { $schema: _, ...inputSchema } = z.toJSONSchema(schema, { io: 'input' })
    return { name, description, inputSchema: { ...inputSchema, type: 'object' as const } }
  })
}

/** What a runtime calls; or, for the model, why that is no call and how it is made right. */
export function readCall(
  name: string,
  args: unknown,
  newId: () => string,
): { made: McpCall } | { refusal: string } {
  if (!isToolName(name)) {
    return { refusal: `There is no tool ${name}. There are: ${Object.keys(TOOLS).join(', ')}.` }
  }
  // The pair of schema and maker belongs together, which the union of all tools does not tell.
  const { schema, make, example } = TOOLS[name] as unknown as Tool<z.ZodType>
  const read = schema.safeParse(args ?? {})
  if (read.success) return { made: make(read.data, newId) }
  const issues = read.error.issues.slice(0, ISSUES_TOLD).map((issue) => `- ${describe(issue)}`)
  const refusal = [
    `Nothing was recorded: the arguments of ${name} do not fit.`,
    ...issues,
    `Call it again with arguments such as ${JSON.stringify(example)}`,
  ]
  return { refusal: refusal.join('\n') }
}

const ISSUES_TOLD = 10

function describe({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`
}
